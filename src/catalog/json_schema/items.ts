import type { Check } from "./node.ts";
import { isList, type Place } from "./place.ts";

// Keywords that apply schemas to the items of a list.

/** `prefixItems` and `items`, or in older words a list as `items` and `additionalItems`. */
export function items(place: Place): Check | undefined {
  const isOldList = isList(place.get("items"));
  const prefix = (isOldList ? place.allInside("items") : place.allInside("prefixItems")) ?? [];
  const rest = place.inside(isOldList ? "additionalItems" : "items");
  if (prefix.length === 0 && rest === undefined) return undefined;
  return (value, run, seen) => {
    if (!isList(value)) return true;
    let isValid = true;
    for (const [index, item] of value.entries()) {
      const node = prefix[index] ?? rest;
      if (node === undefined) break;
      seen?.add(index);
      if (run.at(index, () => node.accepts(item, run))) continue;
      isValid = false;
      if (!run.goesOn) break;
    }
    return isValid;
  };
}

/** `contains`, `minContains` and `maxContains`. */
export function contains(place: Place): Check | undefined {
  const node = place.inside("contains");
  if (node === undefined) return undefined;
  const least = place.count("minContains") ?? 1;
  const most = place.count("maxContains") ?? Infinity;
  return (value, run, seen) => {
    if (!isList(value)) return true;
    let found = 0;
    for (const [index, item] of value.entries()) {
      if (!run.attempt(() => node.accepts(item, run))) continue;
      found++;
      seen?.add(index);
    }
    if (found < least) return run.fail("contains", () => `has too few items of a kind, wanted at least ${least}`);
    // Of doubtful items some may not be of that kind.
    if (found <= most || node.isDoubtful) return true;
    return run.fail("maxContains", () => `has too many items of a kind, wanted at most ${most}`);
  };
}

export function unevaluatedItems(place: Place): Check | undefined {
  const node = place.inside("unevaluatedItems");
  if (node === undefined) return undefined;
  place.track();
  return (value, run, seen) => {
    if (!isList(value)) return true;
    let isValid = true;
    for (const [index, item] of value.entries()) {
      run.spend(1);
      if (seen?.has(index)) continue;
      seen?.add(index);
      if (run.at(index, () => node.accepts(item, run))) continue;
      isValid = false;
      if (!run.goesOn) break;
    }
    return isValid;
  };
}
