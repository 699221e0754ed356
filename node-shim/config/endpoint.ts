// Where a container runtime listens, as the kubelet's configuration writes it. Opens nothing.

import { failure, type Result, success } from "../../shared/result.ts";
/** sun_path, less its end. */
const MAX_PATH_BYTES = 107;

/** The socket's path of "unix:///run/containerd/containerd.sock", or why it is none (cri-client GetAddressAndDialer). */
export function socketPathOf(endpoint: string): Result<string> {
  const path = /^(?:unix:\/\/)?(\/[^\0]*)$/.exec(endpoint)?.[1];
  if (path === undefined)
    return failure(`must read unix:///PATH, or "" where no container runtime is, not "${endpoint}"`);
  return Buffer.byteLength(path) <= MAX_PATH_BYTES
    ? success(path)
    : failure(`is longer than the ${MAX_PATH_BYTES} bytes that a socket's path may have`);
}
