// The runtime's images as facts: the kubelet's order and selection, within what a report can hold.
import { expect, test } from "vitest";
import { imageFacts } from "../../../../../node-shim/sources/cri/monitor.ts";
import type { CriImage } from "../../../../../node-shim/sources/cri/runtime-client.ts";
import { FACTS_LIMITS, LIMITS } from "../../../../../shared/protocol/limits.ts";
import { factsSchema } from "../../../../../shared/protocol/facts.ts";

const image = (
  id: string,
  size: number,
  repoTags: string[] = [id],
  repoDigests: string[] = [],
): CriImage => ({
  id,
  size,
  repoTags,
  repoDigests,
});
const fail = (message: string) => {
  throw new Error(message);
};
const tags = (listed: CriImage[], max: number) =>
  imageFacts(listed, max, fail).map(({ repoTags }) => repoTags[0]);

test("by size, largest first; ties by ID, last first", () => {
  const listed = [image("b", 5), image("a", 9), image("d", 5), image("c", 5), image("e", 1)];
  expect(tags(listed, 50)).toEqual(["a", "d", "c", "b", "e"]);
});

test.each([
  [2, ["a", "b"]],
  [0, []],
  [-1, ["a", "b", "c"]],
])("nodeStatusMaxImages %i → %j", (max, expected) => {
  expect(tags([image("c", 1), image("b", 2), image("a", 3)], max)).toEqual(expected);
});

test("more names than are shown → digests, then tags, five in all", () => {
  const digests = ["d1", "d2", "d3"];
  const names = ["t1", "t2", "t3"];
  expect(imageFacts([image("a", 1, names, digests)], 50, fail)).toEqual([
    { repoDigests: digests, repoTags: ["t1", "t2"], sizeBytes: 1 },
  ]);
  expect(imageFacts([image("a", 1, names, [...digests, "d4", "d5", "d6"])], 50, fail)).toEqual([
    { repoDigests: ["d1", "d2", "d3", "d4", "d5"], repoTags: [], sizeBytes: 1 },
  ]);
});

test("no names, a size beyond what JSON can hold → what a report can hold", () => {
  expect(imageFacts([image("a", 2 ** 63, [])], 50, fail)).toEqual([
    { repoDigests: [], repoTags: [], sizeBytes: Number.MAX_SAFE_INTEGER },
  ]);
});

test.each([
  ["as many as fit → all", FACTS_LIMITS.images, "n", FACTS_LIMITS.images, []],
  [
    "one more → the largest",
    FACTS_LIMITS.images + 1,
    "n",
    FACTS_LIMITS.images,
    ["1 of 1001 do not fit into a report: set nodeStatusMaxImages"],
  ],
  [
    "long names, and many → as many as fit",
    1000,
    "n".repeat(1024),
    160,
    ["840 of 1000 do not fit into a report: set nodeStatusMaxImages"],
  ],
  [
    "a name longer than any may be → left out",
    1,
    "n".repeat(1025),
    0,
    ["1 of 1 do not fit into a report: set nodeStatusMaxImages"],
  ],
])("%s", (_name, count, tag, kept, said) => {
  const messages: string[] = [];
  const listed = Array.from({ length: count }, (_, at) => image(`i${at}`, count - at, [tag]));
  const images = imageFacts(listed, -1, (message) => messages.push(message));
  expect(images).toHaveLength(kept);
  expect(messages).toEqual(said);
  expect(factsSchema.shape.images.safeParse(images).success).toBe(true);
  expect(JSON.stringify(images).length).toBeLessThan(LIMITS.bodyBytes - 48 * 1024);
});
