// Plays a systemd-inhibit that records its calls. The real one needs a whole logind.
import { chmodSync, existsSync, mkdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Returns a PATH on which the played program comes first, and the program's notes: arguments, environment, then
 * `released`.
 */
export function fakeInhibit(folder: string) {
  const bin = join(folder, "bin");
  const notes = join(folder, "notes");
  mkdirSync(bin);
  writeFileSync(notes, "");
  const program = join(bin, "systemd-inhibit");
  const script = [
    "#!/bin/sh",
    `echo "$@" >> ${notes}`,
    `env > ${notes}.env`,
    "for last; do :; done",
    '"$last" > /dev/null',
    `echo released >> ${notes}`,
  ];
  writeFileSync(program, `${script.join("\n")}\n`);
  chmodSync(program, 0o755);
  const lines = () => readFileSync(notes, "utf8").split("\n").filter(Boolean);
  return {
    path: `${bin}${delimiter}${process.env["PATH"]}`,
    lines,
    environment: () => (existsSync(`${notes}.env`) ? readFileSync(`${notes}.env`, "utf8") : ""),
    /** Resolves once there are `count` lines of notes. */
    async until(count: number): Promise<void> {
      if (lines().length >= count) return;
      await new Promise<void>((resolve) => {
        const look = () => {
          if (lines().length < count) return;
          watcher.close();
          resolve();
        };
        const watcher = watch(notes, look);
        look();
      });
    },
  };
}
