// Tests the limit of an object's connections: six at a time, first come, first served.
import { describe, expect, it } from "vitest";
import { MOST_CONNECTIONS, OutgoingConnections } from "../../../infra/local/outgoing-connections.ts";

/** Requests that the test answers, and the order in which they began. */
function requests() {
  const begun: number[] = [];
  const answers = new Map<number, { resolve: (text: string) => void; reject: (error: Error) => void }>();
  const request = (n: number) => () => {
    begun.push(n);
    const { promise, ...answer } = Promise.withResolvers<string>();
    answers.set(n, answer);
    return promise;
  };
  return { begun, answers, request };
}

const turn = async () => {
  for (let turns = 0; turns < 10; turns++) await Promise.resolve();
};

describe("the connections of an object", () => {
  it("six requests begin at once; the seventh begins once one of them has its answer", async () => {
    const { begun, answers, request } = requests();
    const connections = new OutgoingConnections();
    const sent = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => connections.send(request(n)));
    await turn();
    expect(begun).toEqual([1, 2, 3, 4, 5, 6]);
    answers.get(4)?.resolve("four");
    expect(await sent[3]).toBe("four");
    await turn();
    expect(begun).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(connections.counts).toEqual({ begun: 7, waited: 2, longestQueue: 2 });
  });

  it("a request that fails frees its connection", async () => {
    const { begun, answers, request } = requests();
    const connections = new OutgoingConnections();
    const sent = [1, 2, 3, 4, 5, 6, 7].map((n) => connections.send(request(n)));
    await turn();
    answers.get(1)?.reject(new Error("reset"));
    await expect(sent[0]).rejects.toThrow("reset");
    await turn();
    expect(begun).toContain(7);
  });

  it("a request whose deadline ends while it waits → never begins, and the next one does", async () => {
    const { begun, answers, request } = requests();
    const connections = new OutgoingConnections();
    const abort = new AbortController();
    for (let n = 1; n <= MOST_CONNECTIONS; n++) void connections.send(request(n));
    const late = connections.send(request(7), abort.signal);
    void connections.send(request(8), new AbortController().signal);
    abort.abort(new Error("no answer in time"));
    await expect(late).rejects.toThrow("no answer in time");
    answers.get(1)?.resolve("");
    await turn();
    expect(begun).toEqual([1, 2, 3, 4, 5, 6, 8]);
  });
});
