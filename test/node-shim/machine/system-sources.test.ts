// Tests that a slow source delays only the first report.
import { success } from "../../../shared/result.ts";
import { expect, it } from "vitest";
import { inBackground } from "../../../node-shim/machine/system-sources.ts";
import { type Reading, unreadable } from "../../../node-shim/base/reading.ts";

it("the first answer is waited for; later the latest one is used at once, also an error", async () => {
  const asked: { name: string; answer: (reading: Reading<string>) => void }[] = [];
  const ask = inBackground(
    (name) => new Promise<Reading<string>>((answer) => void asked.push({ name, answer })),
  );
  const first = ask("edge-1");
  asked[0]?.answer(success("10.0.0.1"));
  expect(await first).toEqual(success("10.0.0.1"));

  expect(await ask("edge-1")).toEqual(success("10.0.0.1"));
  asked[1]?.answer(success("10.0.0.2"));
  await Promise.resolve();
  expect(await ask("edge-1")).toEqual(success("10.0.0.2"));
  asked[2]?.answer(unreadable("no answer"));
  await Promise.resolve();
  expect(await ask("edge-1")).toEqual(unreadable("no answer"));

  const other = ask("edge-2");
  asked[4]?.answer(success("10.0.0.3"));
  expect(await other).toEqual(success("10.0.0.3"));
  expect(asked.map(({ name }) => name)).toEqual(["edge-1", "edge-1", "edge-1", "edge-1", "edge-2"]);
});
