// Tokens by which a client goes on with a list: where it stopped, at which revision. Mirrors apiserver's
// storage/continue.go, so that the tokens are the real one's. Reads no store.
import { isJsonObject, type Json } from "../../../shared/kubernetes/json.ts";
import { textOf } from "./object.ts";

export interface Continuation {
  /** The revision of the list, or -1 for whatever is the latest. */
  revision: number;
  /** The last object's key below the list's own prefix; the list goes on behind it. */
  after: string;
}

const encodedVersion = "meta.k8s.io/v1";
const invalidKey = "continue key is not valid";

export function encodeContinuation({ revision, after }: Continuation): string {
  const token = { v: encodedVersion, rv: revision, start: `/${after}\0` };
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

/** Where text stops to be unpadded base64url, in base64.CorruptInputError's words. */
function base64Error(text: string): string | undefined {
  const illegal = text.search(/[^\w-]/);
  const position = illegal === -1 && text.length % 4 === 1 ? text.length - 1 : illegal;
  return position === -1 ? undefined : `illegal base64 data at input byte ${position}`;
}

function parseToken(text: string): { token: Json } | { error: string } {
  const fault = base64Error(text);
  if (fault !== undefined) return { error: `${invalidKey}: ${fault}` };
  try {
    return { token: JSON.parse(Buffer.from(text, "base64url").toString("utf8")) };
  } catch (error) {
    return { error: `${invalidKey}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Whether a path has no way out of its folder (path.Clean changes nothing). */
function isClean(path: string): boolean {
  return path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/** The token's meaning, or what is wrong with it. */
export function decodeContinuation(text: string): Continuation | { error: string } {
  const parsed = parseToken(text);
  if ("error" in parsed) return parsed;
  const { v = "", rv = 0, start = "" } = isJsonObject(parsed.token) ? parsed.token : {};
  if (v !== encodedVersion) {
    return { error: `${invalidKey}: server does not recognize this encoded version ${textOf(v)}` };
  }
  if (typeof rv !== "number" || rv === 0) {
    return { error: `${invalidKey}: incorrect encoded start resourceVersion (version ${encodedVersion})` };
  }
  if (typeof start !== "string" || start === "") {
    return { error: `${invalidKey}: encoded start key empty (version ${encodedVersion})` };
  }
  const key = start.replace(/^\//, "");
  return isClean(key)
    ? { revision: rv, after: key.replace(/\0$/, "") }
    : { error: `${invalidKey}: ${start}` };
}
