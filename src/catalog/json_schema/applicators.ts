import { isObject } from "./document.ts";
import type { Check, Resource, SchemaNode } from "./node.ts";
import type { Place } from "./place.ts";
import type { Run, SchemaError } from "./run.ts";
import type { Seen } from "./seen.ts";

// Keywords that apply other schemas to the same value.

/** Most alternatives that a message says something about. */
const MAX_TOLD = 3;
const MAX_REASON = 300;

export function reference(place: Place): Check | undefined {
  const found = place.reference("$ref");
  if (found === undefined) return undefined;
  const { target } = found;
  return (value, run, seen) => target.accepts(value, run, seen);
}

/** The outermost schema of that dynamic name, if the reference leads to one at all (2020-12 core, section 8.2.3.2). */
export function dynamicReference(place: Place): Check | undefined {
  const found = place.reference("$dynamicRef");
  if (found === undefined) return undefined;
  const { text, target } = found;
  const name = text.slice(text.indexOf("#") + 1);
  if (target.resource.dynamicAnchors.get(name) !== target) {
    return (value, run, seen) => target.accepts(value, run, seen);
  }
  place.mayComeTo(name);
  return (value, run, seen) => {
    const outermost = run.outermost((resource) => resource.dynamicAnchors.get(name));
    return (outermost ?? target).accepts(value, run, seen);
  };
}

export function allOf(place: Place): Check | undefined {
  const nodes = place.allHere("allOf");
  return nodes === undefined ? undefined : (value, run, seen) => acceptAll(nodes, value, run, seen);
}

export function anyOf(place: Place): Check | undefined {
  const nodes = place.allHere("anyOf");
  if (nodes === undefined) return undefined;
  return (value, run, seen) => {
    const faults: SchemaError[] = [];
    let isValid = false;
    for (const node of nodes) {
      if (!run.attempt(() => node.accepts(value, run, seen), faults)) continue;
      isValid = true;
      // Where it matters what was seen, all that match have a say.
      if (seen === undefined) break;
    }
    return isValid || run.fail("anyOf", () => `fits none of ${nodes.length} alternatives${told(faults)}`);
  };
}

export function oneOf(place: Place): Check | undefined {
  const nodes = place.allHere("oneOf");
  if (nodes === undefined) return undefined;
  return (value, run, seen) => {
    const faults: SchemaError[] = [];
    let sure = 0;
    let doubtful = 0;
    for (const node of nodes) {
      if (!run.attempt(() => node.accepts(value, run, seen), faults)) continue;
      if (node.isDoubtful) doubtful++;
      else sure++;
    }
    if (sure === 1 || (sure === 0 && doubtful > 0)) return true;
    return run.fail(
      "oneOf",
      () =>
        sure > 1 ? `fits ${sure} alternatives, wanted one` : `fits none of ${nodes.length} alternatives${told(faults)}`,
    );
  };
}

export function not(place: Place): Check | undefined {
  const node = place.here("not");
  if (node === undefined) return undefined;
  return (value, run) =>
    node.isDoubtful || !run.attempt(() => node.accepts(value, run)) ||
    run.fail("not", () => "is what was not wanted");
}

export function condition(place: Place): Check | undefined {
  const test = place.here("if");
  if (test === undefined) return undefined;
  const branches = [place.here("then"), place.here("else")] as const;
  return (value, run, seen) => {
    if (test.isDoubtful) {
      // Neither branch may refuse, and what either would have seen is not known.
      seen?.addAll();
      return true;
    }
    const isMet = run.attempt(() => test.accepts(value, run, seen));
    return (isMet ? branches[0] : branches[1])?.accepts(value, run, seen) ?? true;
  };
}

export function dependentSchemas(place: Place): Check | undefined {
  return dependent(place.mapHere("dependentSchemas"));
}

/** The schemas of `dependencies`. */
export function dependencySchemas(place: Place): Check | undefined {
  return dependent(place.dependencySchemas());
}

function dependent(entries: readonly (readonly [string, SchemaNode])[] | undefined): Check | undefined {
  if (entries === undefined || entries.length === 0) return undefined;
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    run.spend(entries.length);
    const nodes = entries.filter(([name]) => Object.hasOwn(value, name)).map(([, node]) => node);
    return acceptAll(nodes, value, run, seen);
  };
}

function acceptAll(nodes: readonly SchemaNode[], value: unknown, run: Run<Resource>, seen: Seen | undefined): boolean {
  let isValid = true;
  for (const node of nodes) {
    if (node.accepts(value, run, seen)) continue;
    isValid = false;
    if (!run.goesOn) break;
  }
  return isValid;
}

function told(faults: readonly SchemaError[]): string {
  if (faults.length === 0) return "";
  const reasons = faults.map(({ instancePath, message }) => `${instancePath} ${message}`.trim());
  const short = reasons.filter((reason) => reason.length <= MAX_REASON).slice(0, MAX_TOLD);
  return `: ${[...short, ...(short.length < faults.length ? ["and others"] : [])].join("; ")}`;
}
