// Setter: the images on the machine.
import type { NodeStatus } from "../kubernetes/types.ts";
import type { Setter } from "./setter.ts";
import type { Result } from "../result.ts";

/** An image of the container runtime's list. */
export interface ContainerImage {
  repoDigests: readonly string[] | null;
  repoTags: readonly string[] | null;
  sizeBytes: number;
}

type NodeImage = NonNullable<NodeStatus["images"]>[number];

/** Upstream MaxNamesPerImageInNodeStatus. */
const MAX_NAMES_PER_IMAGE = 5;

/**
 * Upstream nodestatus.Images. The list is sorted by size, the largest first; the setter cuts it. A negative maximum means
 * all. An unchanged list stays the same object, so that comparing is cheap.
 */
export function images(
  nodeStatusMaxImages: number, // typically 50
  imageList: () => Result<readonly ContainerImage[] | null>, // typically the facts' images
): Setter {
  return (node) => {
    const list = imageList();
    const all = (!list.ok ? null : list.value) ?? [];
    const shown = nodeStatusMaxImages < 0 ? all : all.slice(0, nodeStatusMaxImages);
    const listed = node.status.images ?? [];
    if (shown.length === 0) delete node.status.images;
    else if (
      shown.length !== listed.length ||
      !shown.every((image, index) => isListed(image, listed[index]))
    ) {
      node.status.images = shown.map(nodeImage);
    }
    return !list.ok ? `error getting image list: ${list.error}` : null;
  };
}

function nodeImage({ repoDigests, repoTags, sizeBytes }: ContainerImage): NodeImage {
  const names = [...(repoDigests ?? []), ...(repoTags ?? [])].slice(0, MAX_NAMES_PER_IMAGE);
  return sizeBytes === 0 ? { names } : { names, sizeBytes };
}

/** Compares with the result of `nodeImage` without making it, since most reports change no image. */
function isListed(
  { repoDigests, repoTags, sizeBytes }: ContainerImage,
  listed: NodeImage | undefined,
): boolean {
  const digests = repoDigests?.length ?? 0;
  const count = Math.min(digests + (repoTags?.length ?? 0), MAX_NAMES_PER_IMAGE);
  if (listed?.names?.length !== count || (listed.sizeBytes ?? 0) !== sizeBytes) return false;
  return listed.names.every(
    (name, index) => name === (index < digests ? repoDigests?.[index] : repoTags?.[index - digests]),
  );
}
