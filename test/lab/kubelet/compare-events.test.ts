// Tests the comparison of a kubelet's events with the shim's: allowed differences, and the report of other
// differences.
import { describe, expect, it, test } from "vitest";
import { compareEvents, eventsText, type ToldEvent } from "./compare-events.ts";

function told(reason: string, more: Partial<ToldEvent> = {}): ToldEvent {
  return { about: "v1 Node", type: "Normal", reason, message: `NODE: ${reason}`, count: 1, ...more };
}
const kubeletStarts = told("Starting", { message: "Starting kubelet." });
const shimStarts = told("Starting", { message: "Starting node-shim." });
const [ready, notReady] = [told("NodeReady"), told("NodeNotReady")];
const sufficient = told("NodeHasSufficientMemory");
const insufficient = told("NodeHasInsufficientMemory");
const threshold = told("EvictionThresholdMet", { type: "Warning" });
const noCapacity = told("InvalidDiskCapacity", { type: "Warning" });

/** Returns a text for each forbidden difference: the reason of the kubelet's event, then that of the shim's event. */
function wrong(kubelet: ToldEvent[], ours: ToldEvent[]): string[] {
  return compareEvents(kubelet, ours).flatMap((row) =>
    row.why === null ? [`${row.kubelet?.reason ?? "-"} ${row.ours?.reason ?? "-"}`] : [],
  );
}

describe("compareEvents", () => {
  test.each<[situation: string, kubelet: ToldEvent[], ours: ToldEvent[], wrong: string[]]>([
    ["the same", [ready, notReady], [ready, notReady], []],
    ["none at all", [], [], []],
    ["one too few", [ready, notReady], [ready], ["NodeNotReady -"]],
    ["one too many", [ready], [ready, notReady], ["- NodeNotReady"]],
    ["another order", [notReady, ready], [ready, notReady], ["NodeNotReady -", "- NodeNotReady"]],
    ["another type", [ready], [told("NodeReady", { type: "Warning" })], ["NodeReady -", "- NodeReady"]],
    ["other words", [ready], [told("NodeReady", { message: "up" })], ["NodeReady -", "- NodeReady"]],
    ["without a version", [ready], [told("NodeReady", { about: " Node" })], ["NodeReady -", "- NodeReady"]],
    ["another count", [told("NodeReady", { count: 2 })], [ready], ["NodeReady NodeReady"]],
    ["the shim's own name", [kubeletStarts], [shimStarts], []],
    ["no event of a garbage collection", [kubeletStarts, noCapacity, ready], [shimStarts, ready], []],
    [
      "one that a kubelet does not have",
      [kubeletStarts],
      [shimStarts, noCapacity],
      ["- InvalidDiskCapacity"],
    ],
    ["conditions counted while it registers", [told(sufficient.reason, { count: 3 })], [sufficient], []],
    [
      "a pressure that exists from the start",
      [kubeletStarts, sufficient, ready, threshold, insufficient],
      [shimStarts, insufficient, ready, threshold],
      [],
    ],
    ["a threshold that is repeated", [told(threshold.reason, { ...threshold, count: 4 })], [threshold], []],
    [
      "a pressure of another process does not excuse a missing end",
      [kubeletStarts, insufficient, kubeletStarts, sufficient],
      [shimStarts, insufficient, shimStarts],
      ["NodeHasSufficientMemory -"],
    ],
    ["one start too few", [kubeletStarts, kubeletStarts], [shimStarts], ["Starting -"]],
  ])("%s → exactly the forbidden differences", (_situation, kubelet, ours, differences) => {
    expect(wrong(kubelet, ours)).toEqual(differences);
  });

  it("as text → both lists side by side, the reason of an allowed difference, the words of a forbidden one", () => {
    const text = eventsText(
      compareEvents([kubeletStarts, noCapacity, ready], [shimStarts, told("NodeReady", { message: "up" })]),
    );
    expect(text.split("\n")).toEqual([
      "~ Normal Starting              Normal Starting   (no kubelet is there to speak of)",
      "~ Warning InvalidDiskCapacity  -   (a kubelet collects garbage before it has looked at the disk)",
      "! Normal NodeReady             -",
      "    v1 Node Normal NodeReady: NODE: NodeReady",
      "! -                            Normal NodeReady",
      "    v1 Node Normal NodeReady: up",
      "",
    ]);
  });
});
