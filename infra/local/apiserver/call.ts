// Defines the arguments and results of the handlers that read and write resources.
import type { Authorizer } from "./access/authorization.ts";
import { failure, success } from "../../../shared/result.ts";
import type { ApiObject, Outcome } from "./object.ts";
import type { RequestInfo } from "./request-info.ts";
import type { ResourceType } from "./resource-type.ts";
import type { TokenSigner } from "./access/service-account-tokens.ts";
import * as refuse from "./status.ts";
import { keyOf, type Surroundings } from "./write/write.ts";

/** The functions that sign tokens and decide access reviews. A call itself is authorised before its handler runs. */
export interface AccessControl {
  signer: TokenSigner;
  decide: Authorizer;
}

export interface Call {
  request: Request;
  query: URLSearchParams;
  info: RequestInfo;
  type: ResourceType;
  control: AccessControl;
}

/** An answer whose body is an object, a list or a Status. */
export interface Answer {
  code: number;
  body: object;
}

/** Returns an answer whose body is the result of an operation, or the operation's error. */
export function answerWith(code: number, result: Outcome<object>): Outcome<Answer> {
  return result.ok ? success({ code, body: result.value }) : result;
}

/** Returns the stored object that the path names, or a 404. */
export function stored({ store }: Surroundings, { type, info }: Call): Outcome<ApiObject> {
  const object = store.get(keyOf(type, info.namespace, info.name));
  return object ? success(object) : failure(refuse.notFound(type, info.name));
}
