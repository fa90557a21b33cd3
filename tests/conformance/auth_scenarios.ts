import { connectClient, httpDialer } from "../../src/client/mod.ts";
import { type LoginAsk, oauthFor, type OAuthGrant, type OAuthOptions } from "../../src/auth/mod.ts";
import { resultOf, type Setting } from "./scenarios.ts";

const REDIRECT = "http://localhost:3000/callback";
/** The suite never fetches it, and neither does anybody else. */
const METADATA = "https://conformance-test.local/client-metadata.json";

/** Gives consent at once, as the suite's authorization server does: its answer says where a person would be sent. */
async function consent({ url, signal }: LoginAsk): Promise<string> {
  const answer = await fetch(url, { redirect: "manual", signal });
  await answer.body?.cancel();
  return answer.headers.get("location") ?? "";
}

const CODE: OAuthGrant = { type: "authorization_code", open: consent, redirectUri: REDIRECT };

/** How a client of this scenario logs in. */
function loginOf({ scenario, context }: Setting): Omit<OAuthOptions, "url" | "fetch"> {
  const text = (name: string): string => String(context[name]);
  const clientId = text("client_id");
  switch (scenario) {
    case "auth/pre-registration": {
      const issuer = context["issuer"];
      return {
        grant: CODE,
        clientId,
        clientSecret: text("client_secret"),
        ...(typeof issuer === "string" ? { issuer } : {}),
      };
    }
    case "auth/client-credentials-basic":
      return { clientId, grant: { type: "client_credentials", clientSecret: text("client_secret") } };
    case "auth/client-credentials-jwt": {
      const privateKey = { pem: text("private_key_pem"), algorithm: text("signing_algorithm") };
      return { clientId, grant: { type: "client_credentials", privateKey } };
    }
    case "auth/enterprise-managed-authorization": {
      const provider = {
        issuer: text("idp_issuer"),
        tokenEndpoint: text("idp_token_endpoint"),
        clientId: text("idp_client_id"),
      };
      const clientSecret = text("client_secret");
      return { clientId, grant: { type: "enterprise", provider, idToken: () => text("idp_id_token"), clientSecret } };
    }
    case "auth/wif-jwt-bearer":
      return { clientId, grant: { type: "jwt_bearer", assertion: () => text("valid_jwt") } };
  }
  return { grant: CODE, clientMetadataUrl: METADATA, dpop: scenario.startsWith("auth/dpop") };
}

/** Connects, lists and calls, and logs in when that is wanted. */
export async function loggingIn(setting: Setting): Promise<void> {
  const { url } = setting;
  const auth = await oauthFor({ url, fetch, ...loginOf(setting) });
  await using client = await connectClient({ dialer: httpDialer({ url, ...auth }) });
  const { tools } = await client.listTools();
  for (const { name } of tools) resultOf(await client.callTool(name, {}));
}
