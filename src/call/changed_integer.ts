const NUMBER = /-?\d[\d.eE+-]*/g;

/**
 * An integer of valid JSON text that is another one once it is parsed, since no double holds it; `undefined` where there is
 * none. Linear in the text.
 */
export function changedInteger(json: string): string | undefined {
  if (!/\d{16}/.test(json)) return undefined;
  for (let at = 0; at < json.length;) {
    const quote = json.indexOf('"', at);
    for (const [token] of json.slice(at, quote < 0 ? undefined : quote).matchAll(NUMBER)) {
      if (/^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token))) return token;
    }
    if (quote < 0) return undefined;
    at = endOfString(json, quote + 1);
  }
  return undefined;
}

/** Behind the quotation mark that ends a string. */
function endOfString(json: string, from: number): number {
  for (let quote = json.indexOf('"', from); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let start = quote;
    while (start > from && json[start - 1] === "\\") start--;
    if ((quote - start) % 2 === 0) return quote + 1;
  }
  return json.length;
}
