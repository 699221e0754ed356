// Tests the control plane for a number of machines: at each size of Kubernetes' scripts, and just over it.
import { expect, test } from "vitest";
import { controlPlaneOf } from "./control-plane.ts";

test.each([
  [1, 1, 1],
  [5, 1, 1],
  [6, 1, 2],
  [10, 1, 2],
  [11, 1, 4],
  [100, 1, 4],
  [101, 1, 8],
  [250, 1, 8],
  [251, 1, 16],
  [500, 1, 16],
  [501, 1, 32],
  [3000, 1, 32],
  [3001, 1, 64],
  [5000, 1, 64],
  [5001, 2, 32],
  [10_000, 2, 64],
  [100_000, 20, 64],
])(
  "%i machines → %i clusters, with %i cores for each instance of a control plane",
  (machines, clusters, cores) => {
    expect(controlPlaneOf(machines)).toEqual({
      clusters,
      cores,
      dollars: expect.closeTo(72.96 * clusters, 0) as number,
    });
  },
);
