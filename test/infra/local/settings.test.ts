import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { generatedFolder } from "../../../infra/deploy/wrangler-configuration.ts";
import { adminSecret, openState, saveState } from "../../../infra/local/settings.ts";
import { temporaryFolder } from "../../e2e/local-cluster.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

describe("the state folder", () => {
  const at = (name: string) => join(folder.path, name);

  it("empty → begun, 0600, secrets of its own; opened again → the same", () => {
    const first = openState(folder.path, false);
    expect(first.macKeys).toMatch(/^1:[\w-]{43}$/);
    expect(statSync(at("state.json")).mode & 0o777).toBe(0o600);
    saveState(folder.path, { ...first, workerPort: 8787 });
    expect(openState(folder.path, false)).toEqual({ ...first, workerPort: 8787 });
    const { secret, sha256 } = adminSecret(folder.path);
    expect(adminSecret(folder.path)).toEqual({ secret, sha256 });
    expect(statSync(at("admin-secret")).mode & 0o777).toBe(0o600);
  });

  it("--fresh on ours → all new but the lock", () => {
    const first = openState(folder.path, false);
    const { secret } = adminSecret(folder.path);
    mkdirSync(at("worker/objects"), { recursive: true });
    writeFileSync(at("lock"), "1 1");
    expect(openState(folder.path, true).macKeys).not.toBe(first.macKeys);
    expect(readdirSync(folder.path)).toEqual(["lock", "state.json"]);
    expect(adminSecret(folder.path).secret).not.toBe(secret);
  });

  test.each([false, true])(
    "what npm run deploy has generated (--fresh: %s) → begun beside it, and it stays",
    (fresh) => {
      // The test's folder stands for .rollcall.
      mkdirSync(generatedFolder("", null).replace(".rollcall", folder.path), { recursive: true });
      openState(folder.path, fresh);
      openState(folder.path, fresh);
      expect(readdirSync(folder.path, { recursive: true })).toEqual([
        "deploy",
        "state.json",
        "deploy/default",
      ]);
    },
  );

  test.each([false, true])("other things, no state (--fresh: %s) → refused, nothing is removed", (fresh) => {
    writeFileSync(at("thesis.tex"), "");
    expect(() => openState(folder.path, fresh)).toThrow(
      `${folder.path} holds other things than rollcall's state: pass another --state`,
    );
    expect(readdirSync(folder.path)).toEqual(["thesis.tex"]);
  });

  it("--fresh, and something of someone else's beside a state.json → refused, nothing is removed", () => {
    writeFileSync(at("state.json"), '{"version":4,"terraform":true}');
    writeFileSync(at("thesis.tex"), "");
    expect(() => openState(folder.path, true)).toThrow(
      `${folder.path} holds thesis.tex, which is not rollcall's: move it away, or pass another --state`,
    );
    expect(readdirSync(folder.path)).toEqual(["state.json", "thesis.tex"]);
  });

  test.each(["", "{", "null", "{}", '{"rollcallState":2,"macKeys":""}'])(
    "damaged (%s) → what to do; --fresh → begun anew",
    (text) => {
      writeFileSync(at("state.json"), text);
      expect(() => openState(folder.path, false)).toThrow(
        `${at("state.json")} is damaged: start again with --fresh`,
      );
      expect(readFileSync(at("state.json"), "utf8")).toBe(text);
      expect(openState(folder.path, true).rollcallState).toBe(1);
    },
  );
});
