// Tests which senders' IDs a node object remembers in memory. test/stories/clones.test.ts tests the senders' phases.
import { expect, it } from "vitest";
import type { Report } from "../../../shared/protocol/report.ts";
import { DuplicateSenders } from "../../../worker/machine/duplicate-senders.ts";
import type { Stored } from "../../../worker/storage/journal.ts";
import { facts } from "../support/facts.ts";
import { countingRecords } from "../support/kube-in-between.ts";

const reportOf = (number: number) =>
  ({ startId: "start-1", factsDigest: `digest ${number}`, facts: facts("edge-1") }) as Report;

it.each([
  [256, true],
  [257, false],
])("%i different facts were reported → the IDs of the first ones are known: %s", (count, isKnown) => {
  const senders = new DuplicateSenders({ records: countingRecords() } as Partial<Stored> as Stored);
  for (let number = 1; number <= count; number++) senders.learnFrom(reportOf(number));
  const known = [1, 2, count].map((number) => senders.knowsFacts(`digest ${number}`));
  expect(known).toEqual([isKnown, true, true]);
});
