// Where a container runtime listens, as the kubelet's configuration writes it. Opens nothing.

import { failure, type Result, success } from "../../shared/result.ts";
/** sun_path has 108 bytes, the last of which is NUL. */
const MAX_PATH_BYTES = 107;

/** The path in "unix:///run/containerd/containerd.sock", or why there is none (cri-client GetAddressAndDialer). */
export function socketPathOf(endpoint: string): Result<string> {
  const path = /^(?:unix:\/\/)?(\/[^\0]*)$/.exec(endpoint)?.[1];
  if (path === undefined)
    return failure(`must read unix:///PATH, or "" where no container runtime is, not "${endpoint}"`);
  return Buffer.byteLength(path) <= MAX_PATH_BYTES
    ? success(path)
    : failure(`is longer than the ${MAX_PATH_BYTES} bytes that a socket's path may have`);
}
