// A test that ends while an object of the Worker is aborted: the run goes on, and ends (test/worker/support/set-up.ts).
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { it } from "vitest";

/** After the test's last step, and before vitest has reported it. */
const PROMISES = 40;

it("the object that has resolved the test's last promise is aborted → vitest learns of the end all the same", async () => {
  const last = Promise.withResolvers<void>();
  const aborted = runInDurableObject(env.NODES.getByName("aborted"), async (_, state) => {
    last.resolve();
    for (let each = 0; each < PROMISES; each++) await null;
    state.abort("at the end of a test");
  });
  aborted.catch(() => undefined);
  await last.promise;
});
