import { describe, expect, test } from "vitest";
import type { NodeStatus } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import { type ContainerImage, images } from "../../../shared/setters/images.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const nginx: ContainerImage = {
  repoDigests: ["nginx@sha256:1"],
  repoTags: ["nginx:1.29"],
  sizeBytes: 2000,
};
const pause: ContainerImage = { repoDigests: null, repoTags: ["pause:3.10"], sizeBytes: 1000 };
const shownNginx = { names: ["nginx@sha256:1", "nginx:1.29"], sizeBytes: 2000 };
const shownPause = { names: ["pause:3.10"], sizeBytes: 1000 };

interface Situation {
  name: string;
  max?: number;
  /** The images; a text is the error of listing them. */
  list: ContainerImage[] | string | null;
  before?: NodeStatus["images"];
  after?: NodeStatus["images"];
  error?: string;
}

const situations: Situation[] = [
  {
    name: "two images → both in the order of the list, digests before tags",
    list: [nginx, pause],
    after: [shownNginx, shownPause],
  },
  {
    name: "more images than the maximum → the first ones",
    max: 1,
    list: [nginx, pause],
    after: [shownNginx],
  },
  { name: "the maximum is 0 → none", max: 0, list: [nginx], before: [shownNginx] },
  {
    name: "the maximum is negative → all",
    max: -1,
    list: [nginx, pause],
    after: [shownNginx, shownPause],
  },
  {
    name: "six names → five of them, digests first",
    list: [{ repoDigests: ["d1", "d2", "d3"], repoTags: ["t1", "t2", "t3"], sizeBytes: 1 }],
    after: [{ names: ["d1", "d2", "d3", "t1", "t2"], sizeBytes: 1 }],
  },
  {
    name: "an image without name and size → it is listed, without its size",
    list: [{ repoDigests: [], repoTags: null, sizeBytes: 0 }],
    after: [{ names: [] }],
  },
  {
    name: "an image got another tag → the list is new",
    list: [{ ...nginx, repoTags: ["nginx:1.30"] }],
    before: [shownNginx],
    after: [{ names: ["nginx@sha256:1", "nginx:1.30"], sizeBytes: 2000 }],
  },
  { name: "the last image was removed → no list", list: [], before: [shownNginx] },
  { name: "no container runtime → no list, and that is no error", list: null, before: [shownNginx] },
  {
    name: "they cannot be listed → no list, and the setter fails",
    list: "connection refused",
    before: [shownNginx],
    error: "error getting image list: connection refused",
  },
];

describe("images", () => {
  test.each(situations)("$name", ({ max = 50, list, before, after, error = null }) => {
    const outcome = runSetter(
      () => images(max, () => (typeof list === "string" ? failure(list) : success(list))),
      { status: before ? { images: before } : {} },
    );
    expectOutcome(outcome, { status: after ? { images: after } : {}, error });
  });

  test("nothing has changed → the same list, so that comparing stays cheap", () => {
    const before = [shownNginx, shownPause];
    const node = { metadata: {}, spec: {}, status: { images: before } };
    images(50, () => success([nginx, pause]))(node);
    expect(node.status.images).toBe(before);
  });
});
