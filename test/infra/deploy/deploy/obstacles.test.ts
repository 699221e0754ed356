// Tests that a deployment does not take names of others: another Worker's name, or a hostname that is in DNS.
import { expect, test } from "vitest";
import { withoutObstacle } from "../../../../infra/deploy/deploy.ts";
import { readSettings } from "../../../../infra/deploy/settings-file.ts";

const running = {
  id: "11111111-0000-4000-8000-000000000000",
  createdAt: "2026-01-01T00:00:00Z",
  message: undefined,
  contents: undefined,
  migrationTag: "v5",
  classes: ["NodeObject"],
  variables: { ORIGINS: "https://a.test https://b.test" },
  secrets: [],
};

const taken = () => Promise.resolve(true);
const free = () => Promise.resolve(false);
const unknown = () => Promise.reject(Object.assign(new Error("no answer"), { code: "ETIMEOUT" }));
const unasked = () => Promise.reject(new Error("nobody asks"));

test.each<
  [
    situation: string,
    origin: string,
    deployed: typeof running | null,
    dns: typeof taken | null,
    message: RegExp | null,
  ]
>([
  ["nothing there, a free name", "https://a.test", null, free, null],
  [
    "nothing there, a name that is in DNS",
    "https://a.test",
    null,
    taken,
    /a\.test is in DNS already, .*--replace-dns/,
  ],
  ["the same, where it may be replaced", "https://a.test", null, null, null],
  ["DNS that does not answer", "https://a.test", null, unknown, /a\.test may be in DNS already \(ETIMEOUT\)/],
  ["a name that the Worker has already", "https://b.test", running, unasked, null],
  ["a name that it gets", "https://c.test", running, taken, /c\.test is in DNS already/],
  ["names that are nobody's to take", "http://127.0.0.1:80", null, unasked, null],
  ["one under workers.dev", "https://rollcall.me.workers.dev", null, unasked, null],
  [
    "a Worker that is another program",
    "https://a.test",
    { ...running, classes: [] },
    free,
    /Worker rollcall that is no rollcall/,
  ],
])("%s", async (_, origin, deployed, dns, says) => {
  const settings = readSettings(`origin: ${origin}\napiserver: https://kube.test\n`, "/rollcall.yaml", null);
  if (!settings.ok) throw new Error(settings.error.join("\n"));
  const found = await withoutObstacle(settings.value, deployed, dns);
  expect(found).toEqual(
    says === null
      ? { ok: true, value: null }
      : { ok: false, error: { reason: "usage", message: expect.stringMatching(says) } },
  );
});
