// Names the kubelet version that a Node reports: the cluster's minor version, so that upgrade checks find no skew.
import type { Node } from "../kubernetes/types.ts";
import { VERSION } from "../version.ts";

/** The minor versions of Kubernetes 1 that rollcall was compared with. */
export const COMPARED_MINORS = { oldest: 36, newest: 37 } as const;

/**
 * Returns the kubelet version for a cluster of this minor version, at most the newest compared one. Without a known
 * minor version it is the oldest compared one, since a kubelet must not be newer than its apiserver. Clients parse the
 * version, so it has the form of a semantic version.
 */
export function kubeletVersion(clusterMinor: number = COMPARED_MINORS.oldest): string {
  return `v1.${Math.min(clusterMinor, COMPARED_MINORS.newest)}.0-rollcall-v${VERSION}`;
}

/** Returns the minor version of the Node's kubelet version; undefined if rollcall did not write that version. */
export function writtenMinor({ status }: Pick<Node, "status">): number | undefined {
  const version = status?.nodeInfo?.kubeletVersion ?? "";
  return version.includes("-rollcall-") ? minorOf(version) : undefined;
}

/** Returns the minor version: 36 for `v1.36.3-gke.1`; undefined if the text is no version of Kubernetes 1. */
export function minorOf(version: string): number | undefined {
  const minor = /^v1\.(\d{1,4})\./.exec(version)?.[1];
  return minor === undefined ? undefined : Number(minor);
}
