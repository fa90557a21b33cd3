import type { JsonObject } from "../../protocol/model.ts";
import { knows } from "./dialect.ts";
import { escaped, isObject, type SchemaDocument } from "./document.ts";
import type { Pattern } from "./linear_pattern.ts";
import type { SchemaNode } from "./node.ts";

/** Where one schema stands: how its keywords are read, and how they come to other schemas. */
export class Place {
  readonly #document: SchemaDocument;
  readonly #node: SchemaNode;
  readonly #schema: JsonObject;

  constructor(document: SchemaDocument, node: SchemaNode, schema: JsonObject) {
    this.#document = document;
    this.#node = node;
    this.#schema = schema;
  }

  /** The value of a keyword of the dialect; `undefined` where it is not there. */
  get(keyword: string): unknown {
    const isThere = Object.hasOwn(this.#schema, keyword) && knows(this.#document.dialect, keyword);
    return isThere ? this.#schema[keyword] : undefined;
  }

  /** The value of a keyword, if it is what the dialect wants; else the keyword is ignored, and that is flagged. */
  read<T>(keyword: string, isWanted: (value: unknown) => value is T): T | undefined {
    const value = this.get(keyword);
    if (value === undefined || isWanted(value)) return value;
    this.#document.flag("keyword_ignored", `${this.#node.at}/${keyword}`);
    this.#node.isDoubtful = true;
    return undefined;
  }

  number(keyword: string): number | undefined {
    return this.read(keyword, (value) => typeof value === "number");
  }

  count(keyword: string): number | undefined {
    return this.read(keyword, (value): value is number => Number.isInteger(value) && (value as number) >= 0);
  }

  /** A schema for the same value. */
  here(keyword: string): SchemaNode | undefined {
    const value = this.get(keyword);
    return value === undefined ? undefined : this.#link(value, keyword, this.#node.here);
  }

  /** Schemas for the same value. */
  allHere(keyword: string): readonly SchemaNode[] | undefined {
    return this.read(keyword, isList)?.map((value, index) => this.#link(value, `${keyword}/${index}`, this.#node.here));
  }

  /** Schemas for the same value, by the member that it has to have. */
  mapHere(keyword: string): readonly (readonly [string, SchemaNode])[] | undefined {
    return this.#map(keyword, this.#node.here);
  }

  /** The schemas among `dependencies`, which may be lists of names as well. */
  dependencySchemas(): readonly (readonly [string, SchemaNode])[] {
    return Object.entries(this.read("dependencies", isObject) ?? {})
      .filter(([, value]) => !isTextList(value))
      .map(([key, value]) => [key, this.#link(value, `dependencies/${escaped(key)}`, this.#node.here)]);
  }

  /** Notes that what others have seen of a value matters. */
  track(): void {
    this.#document.tracks = true;
  }

  /** A schema for parts of the value. */
  inside(keyword: string): SchemaNode | undefined {
    const value = this.get(keyword);
    return value === undefined ? undefined : this.#link(value, keyword, this.#node.inside);
  }

  allInside(keyword: string): readonly SchemaNode[] | undefined {
    return this.read(keyword, isList)?.map((value, index) =>
      this.#link(value, `${keyword}/${index}`, this.#node.inside)
    );
  }

  mapInside(keyword: string): readonly (readonly [string, SchemaNode])[] | undefined {
    return this.#map(keyword, this.#node.inside);
  }

  /** The schema that a reference means. */
  reference(keyword: string): { readonly text: string; readonly target: SchemaNode } | undefined {
    const text = this.read(keyword, isText);
    if (text === undefined) return undefined;
    const target = this.#document.resolve(text, this.#node.resource);
    this.#node.here.add(target);
    return { text, target };
  }

  /** The other schemas that go by a dynamic name count as what this one may come to. */
  mayComeTo(dynamicName: string): void {
    for (const node of this.#document.nodes.values()) {
      if (node.resource.dynamicAnchors.get(dynamicName) === node) this.#node.inside.add(node);
    }
  }

  /** A pattern, unless it must not be run. */
  pattern(text: string, where: string): Pattern | undefined {
    const pattern = this.#document.pattern(text, `${this.#node.at}/${where}`);
    if (pattern === undefined) this.#node.isDoubtful = true;
    return pattern;
  }

  #map(keyword: string, links: Set<SchemaNode>): readonly (readonly [string, SchemaNode])[] | undefined {
    const schemas = this.read(keyword, isObject);
    return schemas === undefined
      ? undefined
      : Object.entries(schemas).map(([key, value]) => [key, this.#link(value, `${keyword}/${escaped(key)}`, links)]);
  }

  #link(schema: unknown, where: string, links: Set<SchemaNode>): SchemaNode {
    const { resource, at } = this.#node;
    const node = this.#document.node(schema, resource, `${at}/${where}`, 1);
    links.add(node);
    return node;
  }
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

export function isTextList(value: unknown): value is readonly string[] {
  return isList(value) && value.every(isText);
}
