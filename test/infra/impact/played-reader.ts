// Plays an apiserver for rollcall impact. Answers each path with the test's answer, and all other paths with 404.
// Contains no test.
import type { ClusterReader, ReadFault } from "../../../infra/impact/cluster-reader.ts";
import { failure, success } from "../../../shared/result.ts";

export interface Played {
  /** The answers, by the path of a request without its query: lists and objects. */
  answers?: Readonly<Record<string, unknown>>;
  faults?: Readonly<Record<string, ReadFault>>;
  /** The refusal that answers a dry run. */
  refusal?: ReadFault;
}

export const VERSION = { "/version": { gitVersion: "v1.36.3" } };

export function playedReader({ answers = {}, faults = {}, refusal }: Played = {}) {
  const asked: string[] = [];
  const reader: ClusterReader = {
    get: (path) => {
      asked.push(path);
      const [name = ""] = path.split("?");
      const fault = faults[name];
      const found = { ...VERSION, "/apis": { groups: [] }, ...answers }[name];
      if (fault !== undefined) return Promise.resolve(failure(fault));
      if (found === undefined) return Promise.resolve(failure({ reason: "absent", message: "not found" }));
      return Promise.resolve(success(found));
    },
    tryNode: (node) => Promise.resolve(refusal ? failure(refusal) : success(node)),
  };
  return { reader, asked };
}
