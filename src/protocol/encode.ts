import type { JsonObject } from "./model.ts";

/**
 * JSON text of a request whose `params._meta` gets `metaMembers`, a run of members already in JSON (`"a":1,"b":2`).
 * Splicing text saves building and writing the same metadata anew for every request.
 */
export function encodeRequest(id: number, method: string, params: JsonObject | undefined, metaMembers: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${withMeta(params, metaMembers)}}`;
}

/** JSON text of a notification; `metaMembers` may be empty. */
export function encodeNotification(method: string, params: JsonObject | undefined, metaMembers: string): string {
  if (metaMembers === "" && params === undefined) return `{"jsonrpc":"2.0","method":${JSON.stringify(method)}}`;
  const text = metaMembers === "" ? JSON.stringify(params) : withMeta(params, metaMembers);
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${text}}`;
}

function withMeta(params: JsonObject | undefined, metaMembers: string): string {
  if (params === undefined) return `{"_meta":{${metaMembers}}}`;
  const given = params["_meta"];
  if (given === undefined) {
    const text = JSON.stringify(params);
    return text === "{}" ? `{"_meta":{${metaMembers}}}` : `${text.slice(0, -1)},"_meta":{${metaMembers}}}`;
  }
  // The caller's own metadata first: what the protocol rules about wins.
  const merged = { ...(given as JsonObject), ...(JSON.parse(`{${metaMembers}}`) as JsonObject) };
  return JSON.stringify({ ...params, _meta: merged });
}
