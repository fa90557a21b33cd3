/** Any JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON object as received: members are unchecked. */
export type JsonObject = { readonly [key: string]: unknown };
