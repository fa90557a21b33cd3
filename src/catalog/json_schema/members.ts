import { isObject } from "./document.ts";
import type { Check, SchemaNode } from "./node.ts";
import type { Place } from "./place.ts";

// Keywords that apply schemas to the members of an object.

/** `properties`, `patternProperties` and, for members that neither names, `additionalProperties`. */
export function members(place: Place): Check | undefined {
  const named = new Map(place.mapInside("properties"));
  const byPattern = (place.mapInside("patternProperties") ?? []).map(([text, node]) => ({
    pattern: place.pattern(text, "patternProperties"),
    node,
  }));
  const rest = place.inside("additionalProperties");
  // Which members a pattern means that is not run is not known: all may be meant.
  const isOpen = byPattern.some(({ pattern }) => pattern === undefined);
  const patterns = byPattern.flatMap(({ pattern, node }) => pattern === undefined ? [] : [{ pattern, node }]);
  if (named.size === 0 && byPattern.length === 0 && rest === undefined) return undefined;
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    if (isOpen) seen?.addAll();
    let isValid = true;
    for (const key of Object.keys(value)) {
      run.spend(1);
      const nodes: SchemaNode[] = [];
      const node = named.get(key);
      if (node !== undefined) nodes.push(node);
      for (const { pattern, node } of patterns) if (run.matches(pattern, key)) nodes.push(node);
      if (nodes.length === 0 && rest !== undefined && !isOpen) nodes.push(rest);
      if (nodes.length > 0) seen?.add(key);
      for (const node of nodes) {
        if (!run.at(key, () => node.accepts(value[key], run))) isValid = false;
      }
      if (!isValid && !run.goesOn) break;
    }
    return isValid;
  };
}

export function propertyNames(place: Place): Check | undefined {
  const node = place.inside("propertyNames");
  if (node === undefined) return undefined;
  return (value, run) => {
    if (!isObject(value)) return true;
    let isValid = true;
    for (const key of Object.keys(value)) {
      if (run.at(key, () => node.accepts(key, run))) continue;
      isValid = false;
      if (!run.goesOn) break;
    }
    return isValid;
  };
}

export function unevaluatedProperties(place: Place): Check | undefined {
  const node = place.inside("unevaluatedProperties");
  if (node === undefined) return undefined;
  place.track();
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    let isValid = true;
    for (const key of Object.keys(value)) {
      run.spend(1);
      if (seen?.has(key)) continue;
      seen?.add(key);
      if (run.at(key, () => node.accepts(value[key], run))) continue;
      isValid = false;
      if (!run.goesOn) break;
    }
    return isValid;
  };
}
