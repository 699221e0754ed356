// Tests when a running shim writes to a state folder whose file system is full, or hangs.
import { describe, expect, it, vi } from "vitest";
import { dueWrites } from "../../../node-shim/identity/due-writes.ts";

const failing = (code: string) => () => {
  throw Object.assign(new Error(code), { code });
};

/** Returns the due writes of a folder, what they did and warned, and functions that let a write hang and end. */
function folder() {
  const done: string[] = [];
  let hung: ((code: string | null) => void) | null = null;
  let hangs = false;
  const probe = vi.fn(() =>
    hangs ? new Promise<string | null>((end) => (hung = end)) : Promise.resolve(null),
  );
  const due = dueWrites("/s", (source, message) => void done.push(`${source}: ${message}`), probe);
  return {
    due,
    done,
    probe,
    hang: () => (hangs = true),
    /** Ends the wait for the write that hangs. The file system is then as before the fault, or still hangs. */
    end: async (answered: boolean) => {
      hangs = !answered;
      hung?.(answered ? null : "ETIMEDOUT");
      await settled();
    },
  };
}
const settled = () => new Promise((turn) => void setImmediate(turn));
const LATER = (code: string) =>
  `state folder: /s cannot be written (${code}): the shim reports, and stores its state later`;

describe("work for now", () => {
  it.each<[string, () => () => void, string[]]>([
    ["a file system with room → at once", () => () => undefined, []],
    ["a full file system → later", () => failing("ENOSPC"), [LATER("ENOSPC")]],
  ])("%s", async (_, work, said) => {
    const { due, done } = folder();
    await due.now(work());
    expect(done).toEqual(said);
  });

  it("a folder of another user → an error", async () => {
    await expect(folder().due.now(failing("EACCES"))).rejects.toThrow("EACCES");
  });

  it("a file system that hangs → later, once it probe", async () => {
    const { due, done, hang, end } = folder();
    hang();
    void due.now(() => void done.push("stored"));
    await end(false);
    expect(done).toEqual([LATER("ETIMEDOUT")]);
    due.write();
    await end(true);
    expect(done).toEqual([LATER("ETIMEDOUT"), "stored"]);
  });

  it("without which the shim cannot report, and the file system hangs → an error", async () => {
    const { due, hang, end } = folder();
    hang();
    const required = due.required(() => Promise.resolve("a key"));
    void end(false);
    await expect(required).rejects.toThrow("/s cannot be written (ETIMEDOUT): mend its file system");
  });
});

describe("due work, with each accepted report", () => {
  it("is done once", async () => {
    const { due, done } = folder();
    due.afterReport(() => void done.push("stored"));
    for (let report = 0; report < 3; report++) {
      due.write();
      await settled();
    }
    expect(done).toEqual(["stored"]);
  });

  it("without due work → asks the file system for nothing", () => {
    const { due, probe } = folder();
    due.write();
    expect(probe).not.toHaveBeenCalled();
  });

  it("a write that never ends → one write hangs, whatever number of reports follows; one warning", async () => {
    const { due, done, probe, hang, end } = folder();
    hang();
    due.afterReport(() => void done.push("stored"));
    for (let report = 0; report < 100; report++) due.write();
    await settled();
    expect([probe.mock.calls.length, done]).toEqual([1, []]);
    await end(false);
    for (let report = 0; report < 100; report++) due.write();
    await end(false);
    expect(done).toEqual([LATER("ETIMEDOUT")]);
    due.write();
    await end(true);
    expect(done.at(-1)).toBe("stored");
  });

  it("full again → a second warning only after a success", async () => {
    const { due, done } = folder();
    let isFull = true;
    const work = () => (isFull ? failing("ENOSPC")() : undefined);
    await due.now(work);
    due.write();
    await settled();
    expect(done).toEqual([LATER("ENOSPC")]);
    isFull = false;
    due.write();
    await settled();
    isFull = true;
    await due.now(work);
    expect(done).toEqual([LATER("ENOSPC"), LATER("ENOSPC")]);
  });

  it("another error → the next report throws it", async () => {
    const { due } = folder();
    due.afterReport(failing("EACCES"));
    due.write();
    await settled();
    expect(() => due.write()).toThrow("EACCES");
  });
});
