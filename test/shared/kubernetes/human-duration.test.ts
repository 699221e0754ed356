// Tests the table of TestHumanDuration in k8s.io/apimachinery/pkg/util/duration, and the values around each bound.
import { expect, test } from "vitest";
import { humanDuration } from "../../../shared/kubernetes/human-duration.ts";

const [S, M, H, D] = [1000, 60_000, 3_600_000, 86_400_000];
const Y = 365 * D;

test.each<[ms: number, text: string]>([
  [-2 * S, "<invalid>"],
  [-1.5 * S, "0s"],
  [-S, "0s"],
  [0, "0s"],
  [999, "0s"],
  [S, "1s"],
  [70 * S, "70s"],
  [2 * M - 1, "119s"],
  [2 * M, "2m"],
  [190 * S, "3m10s"],
  [3 * M + 20 * S, "3m20s"],
  [10 * M - 1, "9m59s"],
  [10 * M, "10m"],
  [10 * M + 59 * S, "10m"],
  [70 * M, "70m"],
  [3 * H - 1, "179m"],
  [3 * H, "3h"],
  [8 * H - S, "7h59m"],
  [8 * H, "8h"],
  [8 * H + 59 * M, "8h"],
  [47 * H, "47h"],
  [2 * D - 1, "47h"],
  [2 * D, "2d"],
  [49 * H, "2d1h"],
  [7 * D + 5 * H, "7d5h"],
  [8 * D - S, "7d23h"],
  [8 * D + 2 * H, "8d"],
  [367 * D, "367d"],
  [2 * Y - 1, "729d"],
  [2 * Y, "2y"],
  [2 * Y + 3 * D, "2y3d"],
  [2 * Y + 25 * D, "2y25d"],
  [8 * Y + 2 * D, "8y"],
  [8 * Y + 300 * D, "8y"],
])("%d ms → %s", (ms, text) => {
  expect(humanDuration(ms)).toBe(text);
});
