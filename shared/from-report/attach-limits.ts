// The attach limits of CSI drivers as resources of the Node, where kubelets up to 1.16 had them. Since 1.17 they are in
// CSINode.
import { sha1 } from "@noble/hashes/legacy.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Facts } from "../protocol/facts.ts";
import type { VolumeLimits } from "../setters/volume-limits.ts";
import { type Result, success } from "../result.ts";

const PREFIX = "attachable-volumes-csi-";
/** Upstream ResourceNameLengthLimit. */
const NAME_LENGTH = 63;

/** The input of the setter volumeLimits: one entry for each driver that has a limit. */
export function csiVolumeLimits(limits: Facts["attachLimits"]): Result<VolumeLimits>[] {
  return Object.entries(limits ?? {}).flatMap(([driver, limit]) =>
    limit > 0 ? success({ [attachLimitResource(driver)]: limit }) : [],
  );
}

/** Upstream GetCSIAttachLimitKey: a long name is cut, and a hash of it keeps the result unique. */
export function attachLimitResource(driver: string): string {
  if (PREFIX.length + driver.length < NAME_LENGTH) return PREFIX + driver;
  const hash = bytesToHex(sha1(utf8ToBytes(driver)));
  return PREFIX + driver.slice(0, 23) + hash.slice(0, 16);
}
