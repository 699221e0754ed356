// What can be done to a machine, or to many: its words, and the request for one. Asks nobody.
import { ACTION_WORDS, type ActionName, type ActionWords } from "../../../shared/fleet/action-words.ts";
import type { OperatorRequest } from "../client.ts";

export interface Action extends ActionWords {
  request: (name: string) => OperatorRequest;
}

export const ACTIONS: Readonly<Record<ActionName, Action>> = {
  revoke: { ...ACTION_WORDS.revoke, request: (name) => postTo(name, "/revoke") },
  forget: {
    ...ACTION_WORDS.forget,
    request: (name) => ({ method: "DELETE", path: nodePath(name), missing: noMachine(name) }),
  },
  register: { ...ACTION_WORDS.register, request: (name) => postTo(name, "/register") },
  believe: { ...ACTION_WORDS.believe, request: (name) => postTo(name, "/believe") },
};

export const nodePath = (name: string, action = "") => `/v1/nodes/${encodeURIComponent(name)}${action}`;
export const noMachine = (name: string) => `no machine ${name}`;

const postTo = (name: string, action: string): OperatorRequest => ({
  method: "POST",
  path: nodePath(name, action),
  missing: noMachine(name),
});
