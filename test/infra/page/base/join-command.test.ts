import { expect, it } from "vitest";
import { joinCommand } from "../../../../infra/page/base/join-command.ts";

it.each([
  [
    "with a token: through a pipe, so that no process list shows it",
    "rct_1",
    "printf %s 'rct_1' | node-shim join --url https://r.example.com --join-token-file - --install-service",
  ],
  [
    "without one: out of a file",
    undefined,
    "node-shim join --url https://r.example.com --join-token-file /root/join-token --install-service",
  ],
])("%s", (_, token, command) => {
  expect(joinCommand("https://r.example.com", token)).toBe(command);
});
