// Makes the facts' images out of the runtime's: in the kubelet's order, and no more than fit into a report.
import type { Facts } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import type { CriImage } from "./methods.ts";

type Images = NonNullable<Facts["images"]>;

/** Upstream MaxNamesPerImageInNodeStatus: more are never shown. */
const MAX_NAMES = 5;
/** Bytes of all images' names. 50 images with 5 names of 500 bytes each are 125 KiB; the rest is for other facts. */
const MAX_NAMES_BYTES = 160 * 1024;

/**
 * Upstream imageCache.set and what nodestatus.Images shows of it: by size, largest first, ties by ID, last first.
 * `maxImages` is nodeStatusMaxImages; negative: all. Calls `say` when they do not fit into a report.
 */
export function imageFacts(
  listed: readonly CriImage[],
  maxImages: number,
  say: (message: string) => void,
): Images {
  const wanted = listed
    .toSorted((a, b) => b.size - a.size || Number(b.id > a.id) - Number(b.id < a.id))
    .slice(0, maxImages < 0 ? listed.length : maxImages);
  const images: Images = [];
  let bytes = 0;
  for (const { repoDigests, repoTags, size } of wanted) {
    const names = [...repoDigests, ...repoTags].slice(0, MAX_NAMES);
    bytes += names.reduce((sum, name) => sum + Buffer.byteLength(name), 0);
    if (names.some((name) => name.length > FACTS_LIMITS.imageNameLength)) continue;
    if (bytes > MAX_NAMES_BYTES || images.length === FACTS_LIMITS.images) break;
    const digests = Math.min(repoDigests.length, names.length);
    images.push({
      repoDigests: names.slice(0, digests),
      repoTags: names.slice(digests),
      sizeBytes: Math.min(size, Number.MAX_SAFE_INTEGER),
    });
  }
  const leftOut = wanted.length - images.length;
  if (leftOut > 0) say(`${leftOut} of ${listed.length} do not fit into a report: set nodeStatusMaxImages`);
  return images;
}
