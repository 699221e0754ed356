// Checks the Worker's secrets. No result shows any part of a secret.
import {
  type Check,
  type Configured,
  entriesOf,
  failed,
  type DeploymentFault,
  isEmpty,
  stopping,
  textOf,
  warning,
} from "./check-result.ts";

export const SECRETS: Readonly<Record<string, Check>> = {
  KID_MAC_KEYS: checkMacKeys,
  ADMIN_SECRET_SHA256: checkAdminSecret,
  VIEW_SECRET_SHA256: checkHashes,
  METRICS_SECRET_SHA256: checkHashes,
  KUBE_TOKEN: checkKubeToken,
  KUBE_ACCESS_CLIENT_ID: (id, configured) =>
    checkServiceToken(id, textOf(configured, "KUBE_ACCESS_CLIENT_SECRET"), "KUBE_ACCESS_CLIENT_SECRET"),
  KUBE_ACCESS_CLIENT_SECRET: (secret, configured) =>
    checkServiceToken(secret, textOf(configured, "KUBE_ACCESS_CLIENT_ID"), "KUBE_ACCESS_CLIENT_ID"),
  USAGE_OTLP_HEADER: (header) =>
    isEmpty(header) || HEADER.test(header)
      ? null
      : failed("it is no header, and is not sent", "set it to a header: Authorization: Bearer SECRET"),
};

/** Matches a header: its name, a colon, and its value. */
export const HEADER = /^([\w-]+): *([\x21-\x7e][\x20-\x7e]*)$/;

/** The number of bytes that `openssl rand 32` makes. */
const MAC_KEY_BYTES = 32;
const MAC_KEYS_CURE =
  "set it to ID:KEY, the KEY being 32 random bytes in base64url; several are separated by spaces, and each " +
  "that has ever signed stays";

/** Checks all keys: if an old key is unreadable, the Worker refuses the machines whose kids that key has signed. */
function checkMacKeys(keys: string): DeploymentFault | null {
  const entries = entriesOf(keys);
  if (entries.length === 0) return stopping("it is empty: no machine can be recognised", MAC_KEYS_CURE);
  const read = entries.map((entry) => /^([^:.]+):([\w-]+)={0,2}$/.exec(entry));
  if (read.some((entry) => entry === null || (entry[2] ?? "").length % 4 === 1))
    return stopping("an entry is not ID:KEY, or its KEY is not base64url", MAC_KEYS_CURE);
  if (new Set(read.map((entry) => entry?.[1])).size < entries.length)
    return stopping("two entries have the same ID: the second one is never used", MAC_KEYS_CURE);
  const isShort = read.some((entry) => Math.floor(((entry?.[2] ?? "").length * 3) / 4) < MAC_KEY_BYTES);
  return isShort
    ? warning(`a key has fewer than ${MAC_KEY_BYTES} bytes`, "put a new one before it, with another ID")
    : null;
}

const NO_HASH = "an entry is not the base64url of a SHA-256";
const HASH_CURE =
  "set it to: printf %s SECRET | openssl dgst -sha256 -binary | base64 | tr -- '+/' '-_' | tr -d =";

/** Returns true if the text has the form of a SHA-256 in base64url. */
export const isSha256 = (text: string) => /^[\w-]{43}=?$/.test(text);

function checkAdminSecret(hashes: string, configured: Configured): DeploymentFault | null {
  const isByAccess = ["ACCESS_TEAM", "ACCESS_AUD", "ACCESS_ADMINS"].every(
    (name) => !isEmpty(textOf(configured, name)),
  );
  if (isEmpty(hashes))
    return isByAccess ? null : failed("it is empty: no operator can make changes", HASH_CURE);
  return checkHashes(hashes);
}

function checkHashes(hashes: string): DeploymentFault | null {
  return entriesOf(hashes).every(isSha256) ? null : failed(NO_HASH, HASH_CURE);
}

function checkKubeToken(token: string): DeploymentFault | null {
  const cure = "set it to a token of the Worker's ServiceAccount: kubectl create token";
  if (isEmpty(token)) return failed("it is empty: the apiserver refuses whatever the Worker asks", cure);
  return /^[\x21-\x7e]+$/.test(token)
    ? null
    : failed("it has white space or other characters in it that no token has", cure);
}

/** Checks one half of a service token of Cloudflare Access. Either both halves are set, or neither is. */
function checkServiceToken(half: string, other: string, otherName: string): DeploymentFault | null {
  if (isEmpty(half))
    return isEmpty(other)
      ? null
      : failed(
          `it is empty, although ${otherName} is set: no request to the apiserver has a service token`,
          "set both to those of one service token of Cloudflare Access, or remove both",
        );
  return /^[\x21-\x7e]+$/.test(half)
    ? null
    : failed(
        "it has white space or other characters in it that no header can have, and is not sent",
        "set it to the value alone, without `CF-Access-Client-Id: ` or `CF-Access-Client-Secret: ` before it",
      );
}
