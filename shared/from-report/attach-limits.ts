// What CSI drivers say of their limits, as older kubelets (1.16) had it in the Node. From 1.17 on CSINode has it.
import { sha1 } from "@noble/hashes/legacy.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Facts } from "../protocol/facts.ts";
import type { VolumeLimits } from "../setters/volume-limits.ts";
import { type Result, success } from "../result.ts";

const PREFIX = "attachable-volumes-csi-";
/** Upstream ResourceNameLengthLimit. */
const NAME_LENGTH = 63;

/** What the setter volumeLimits reads: one reading for each driver that has a limit. */
export function csiVolumeLimits(limits: Facts["attachLimits"]): Result<VolumeLimits>[] {
  return Object.entries(limits ?? {}).flatMap(([driver, limit]) =>
    limit > 0 ? success({ [attachLimitResource(driver)]: limit }) : [],
  );
}

/** Upstream GetCSIAttachLimitKey: a long name is cut, and told from others by its hash. */
export function attachLimitResource(driver: string): string {
  if (PREFIX.length + driver.length < NAME_LENGTH) return PREFIX + driver;
  const hash = bytesToHex(sha1(utf8ToBytes(driver)));
  return PREFIX + driver.slice(0, 23) + hash.slice(0, 16);
}
