// Reads a cluster with the requests of npm start's administrator: a kubeconfig without kubectl.
import { after } from "../../node-shim/base/clock.ts";
import { codeOf, faultOf } from "../../node-shim/base/fault.ts";
import { failure, success } from "../../shared/result.ts";
import { ApiRefusal, type Asked, type KubeAdmin } from "../local/kube-admin.ts";
import type { ClusterReader, ReadFault } from "./cluster-reader.ts";

const REASONS: Readonly<Record<number, ReadFault["reason"]>> = {
  401: "unauthorized",
  403: "forbidden",
  404: "absent",
  410: "expired",
};

/** Each request has this deadline. */
const REQUEST_MS = 20_000;

export function adminReader(admin: KubeAdmin): ClusterReader {
  const request = (asked: Asked) =>
    inTime(admin(asked)).then(success, (error: unknown) => failure(faultOfRequest(error)));
  return {
    get: (path) => request({ method: "GET", path }),
    tryNode: (node) => request({ method: "POST", path: "/api/v1/nodes?dryRun=All", body: node }),
  };
}

function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`no answer within ${REQUEST_MS / 1000} s`));
    const cancel = after(REQUEST_MS, late, { ref: false });
    void answer.then(resolve, reject).finally(cancel);
  });
}

function faultOfRequest(error: unknown): ReadFault {
  if (error instanceof SyntaxError) return { reason: "not-kubernetes", message: faultOf(error) };
  if (!(error instanceof ApiRefusal))
    return { reason: "unreachable", message: codeOf(error) ?? faultOf(error) };
  return { reason: REASONS[error.code] ?? "refused", message: messageIn(error.body) };
}

/** A Status has a message; anything else stands there as it came. */
function messageIn(body: string): string {
  try {
    return (JSON.parse(body) as { message?: string }).message ?? body;
  } catch {
    return body.slice(0, 200);
  }
}
