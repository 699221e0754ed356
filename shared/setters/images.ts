// Sets the list of the machine's images.
import type { NodeStatus } from "../kubernetes/types.ts";
import type { Setter } from "./setter.ts";
import type { Result } from "../result.ts";

/** An image in the list of the container runtime. */
export interface ContainerImage {
  repoDigests: readonly string[] | null;
  repoTags: readonly string[] | null;
  sizeBytes: number;
}

type NodeImage = NonNullable<NodeStatus["images"]>[number];

/** The number of names of an image in the Node (upstream MaxNamesPerImageInNodeStatus). */
const MAX_NAMES_PER_IMAGE = 5;

/**
 * Returns the setter of the image list (upstream nodestatus.Images). `imageList` is sorted by size, the largest
 * first, and the setter shortens it. A negative maximum means no limit. An unchanged list stays the same object, so
 * that comparing is fast.
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

/** Returns true if `listed` equals the result of `nodeImage`, without making it: most reports change no image. */
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
