import type { JsonObject } from "../protocol/model.ts";

/** Most icons of one entry. */
const MAX_ICONS = 20;
const PICTURES = /^data:image\/(?:png|jpe?g|webp|gif)[;,]/i;

/**
 * What a server says of one of its things, without the icons that nobody should show: only `https:` addresses and
 * pictures in `data:` stay, none that could hold a script. The very same object where there is nothing to leave out.
 * Nothing is ever fetched here: whoever shows an icon asks for it without credentials, and holds it to be untrusted.
 */
export function withSafeIcons<T extends JsonObject>(entry: T): T {
  const { icons } = entry as { readonly icons?: unknown };
  if (icons === undefined) return entry;
  const found: readonly unknown[] = Array.isArray(icons) ? icons : [];
  const safe = found.filter(isSafe).slice(0, MAX_ICONS);
  if (safe.length === found.length && Array.isArray(icons)) return entry;
  const { icons: _, ...others } = entry;
  return (safe.length === 0 ? others : { ...others, icons: safe }) as unknown as T;
}

function isSafe(icon: unknown): boolean {
  const { src } = (icon ?? {}) as { readonly src?: unknown };
  if (typeof src !== "string") return false;
  if (PICTURES.test(src)) return true;
  try {
    return new URL(src).protocol === "https:";
  } catch {
    // A relative address, or none: there is nothing that it could be relative to.
    return false;
  }
}
