// In which form an answer is wanted: the Accept header → a media type and a representation. Mirrors apiserver's
// handlers/negotiation and, for media types that nobody serves, go-restful. Shows nothing.
import type { Status } from "../../../shared/kubernetes/types.ts";
import type { Outcome } from "./object.ts";
import * as refuse from "./status.ts";

export type Form = "object" | "table" | "metadata" | "metadataList";

export interface Negotiated {
  mediaType: "application/json" | "application/yaml";
  form: Form;
  /** Of meta.k8s.io, for all forms but "object". */
  version: string;
  pretty: boolean;
}

/** One media range: "application/json;as=Table;v=v1;g=meta.k8s.io;q=0.5". */
interface Range {
  mediaType: string;
  parameters: Record<string, string>;
  quality: number;
}

function parseRange(text: string): Range {
  const [mediaType = "", ...rest] = text.split(";").map((part) => part.trim());
  const pairs = rest.map((part): [string, string] => {
    const equals = part.indexOf("=");
    return equals === -1 ? [part, ""] : [part.slice(0, equals), part.slice(equals + 1)];
  });
  const { q, ...parameters } = Object.fromEntries(pairs);
  const quality = Number(q ?? 1);
  return { mediaType: mediaType.toLowerCase(), parameters, quality: Number.isNaN(quality) ? 1 : quality };
}

function wildcards({ mediaType }: Range): number {
  return mediaType.split("*").length - 1;
}

/** goautoneg.ParseAccept: the best first. */
function parseAccept(accept: string): Range[] {
  const ranges = accept.split(",").map(parseRange);
  if (ranges.length === 1) return ranges;
  return ranges.sort((a, b) => b.quality - a.quality || wildcards(a) - wildcards(b));
}

const forms = new Map<string, Form>([
  ["Table", "table"],
  ["PartialObjectMetadata", "metadata"],
  ["PartialObjectMetadataList", "metadataList"],
]);

const mediaTypes = ["application/json", "application/yaml"] as const;

/** acceptMediaTypeOptions: what a range's parameters make of the answer; undefined when they cannot be had. */
function acceptRange(
  { parameters }: Range,
  mediaType: Negotiated["mediaType"],
  isWatch: boolean,
): Negotiated | undefined {
  const { as, g, v, sv = "", stream = "", pretty } = parameters;
  if (sv !== "" && sv !== "v1") return undefined;
  if (stream !== "" && (stream !== "watch" || mediaType !== "application/json")) return undefined;
  if (isWatch && mediaType !== "application/json") return undefined;
  const plain: Negotiated = { mediaType, form: "object", version: "v1", pretty: pretty === "1" };
  if (as === undefined && g === undefined && v === undefined) return plain;
  const form = forms.get(as ?? "");
  const isServed = g === "meta.k8s.io" && (v === "v1" || v === "v1beta1");
  return form && isServed ? { ...plain, form, version: v } : undefined;
}

function matchesMediaType(range: string, mediaType: string): boolean {
  return range === mediaType || range === "*/*" || range === `${mediaType.split("/")[0]}/*`;
}

const produced = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const streamed = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

/** Only a list can also be had as a stream. */
function refuseUnproduced(ranges: Range[], isCollection: boolean): Status | undefined {
  const isProduced = ranges.some(({ mediaType }) => produced.includes(mediaType) || mediaType === "*/*");
  if (isProduced) return undefined;
  return refuse.unproduced(isCollection ? [...produced, ...streamed] : produced);
}

/** The first of the client's wishes that can be fulfilled; without any, JSON. */
export function negotiate(accept: string | null, verb: string): Outcome<Negotiated> {
  const ranges = parseAccept(accept || "*/*");
  const refused = refuseUnproduced(ranges, verb === "list" || verb === "watch");
  if (refused) return { refused };
  for (const range of ranges) {
    for (const mediaType of mediaTypes) {
      if (!matchesMediaType(range.mediaType, mediaType)) continue;
      const negotiated = acceptRange(range, mediaType, verb === "watch");
      if (negotiated) return { ok: negotiated };
    }
  }
  return { refused: refuse.notAcceptable(verb === "watch" ? streamed : produced) };
}

/** Whether a client takes an object as it is; one that does not gets its errors printed for people. */
export function takesPlain(accept: string | null): boolean {
  return parseAccept(accept || "*/*").some((range) =>
    mediaTypes.some(
      (mediaType) =>
        matchesMediaType(range.mediaType, mediaType) &&
        acceptRange(range, mediaType, false)?.form === "object",
    ),
  );
}
