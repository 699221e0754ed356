// kubectl, with the operator's own credentials and whatever they need to log in. Knows no command.
import { execFile } from "node:child_process";
import { codeOf, faultOf } from "../../../node-shim/base/fault.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

/** Returns what it has written; the error is its last line. */
export type Kubectl = (args: readonly string[]) => Promise<Result<string>>;

/** 100,000 Nodes with their owners are 10 MB. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Longer than any wait that it is told. */
const WITHIN_MS = 10 * 60_000;

export const kubectl: Kubectl = (args) =>
  new Promise((resolve) => {
    const options = { maxBuffer: MAX_BYTES, timeout: WITHIN_MS };
    execFile("kubectl", [...args], options, (error, stdout, stderr) => {
      if (!error) return resolve(success(stdout));
      if (codeOf(error) === "ENOENT")
        return resolve(
          failure("there is no kubectl: install it, or remove by hand what docs/removing.md lists"),
        );
      const said = stderr.trimEnd().split("\n").at(-1) ?? "";
      return resolve(failure(`kubectl ${args[0]}: ${said === "" ? faultOf(error) : said}`));
    });
  });
