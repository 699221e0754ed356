import { type AddressInfo, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { freePort } from "../../../infra/local/ports.ts";

describe("ports", () => {
  it("asked and free → that one; asked and taken → which, and what to pass", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await expect(freePort("--worker-port", port, undefined)).rejects.toThrow(
      `port ${port} is taken: free it, or pass another --worker-port (or none)`,
    );
    expect(await freePort("--worker-port", undefined, port)).not.toBe(port);
    await new Promise((resolve) => server.close(resolve));
    expect(await freePort("--worker-port", port, undefined)).toBe(port);
    expect(await freePort("--worker-port", undefined, port)).toBe(port);
  });
});
