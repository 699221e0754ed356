// Where the next page of a list begins, as text for the client: a revision and a key. Mirrors storage.EncodeContinue and
// DecodeContinue; reads no store.
import { posix } from "node:path";
import { isJsonObject } from "../../../../shared/kubernetes/json.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";
import { textOf } from "../object.ts";
import { parseJson } from "../write/body.ts";

export interface Continuation {
  /** All pages show this revision; `latestRevision` for what there is by now. */
  revision: number;
  /** The page's objects have this key or a later one. */
  startKey: string;
}

/** What a client may go on with when the revision of its first page is forgotten. */
export const latestRevision = -1;

const version = "meta.k8s.io/v1";

export function encodeContinue({ revision, startKey }: Continuation): string {
  return Buffer.from(JSON.stringify({ v: version, rv: revision, start: startKey })).toString("base64url");
}

/** A key that stays where it is when its path is resolved. */
function isPlainKey(key: string): boolean {
  const absolute = key.startsWith("/") ? key : `/${key}`;
  return posix.normalize(absolute) === absolute;
}

/** The failure is upstream's text. */
export function decodeContinue(token: string): Result<Continuation> {
  const invalid = "continue key is not valid";
  const parsed = parseJson(Buffer.from(token, "base64url").toString());
  if (!parsed.ok || !isJsonObject(parsed.value)) return failure(invalid);
  const { v, rv, start } = parsed.value;
  if (v !== version)
    return failure(`${invalid}: server does not recognize this encoded version ${textOf(v)}`);
  if (typeof rv !== "number" || rv === 0)
    return failure(`${invalid}: incorrect encoded start resourceVersion (version ${version})`);
  const startKey = textOf(start);
  if (startKey === "") return failure(`${invalid}: encoded start key empty (version ${version})`);
  return isPlainKey(startKey) ? success({ revision: rv, startKey }) : failure(`${invalid}: ${startKey}`);
}
