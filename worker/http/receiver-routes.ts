// Serves the operators' routes about notifications: receivers, their deliveries, and mutes.
import { Hono } from "hono/tiny";
import type {
  ChangedReceiver,
  LettersAnswer,
  ListedMute,
  MutesAnswer,
  ReceiversAnswer,
  ReceiverTest,
} from "../../shared/protocol/receiver-answers.ts";
import { newMute } from "../../shared/protocol/receiver-api.ts";
import { fleetIndex } from "../env.ts";
import { serve } from "./route.ts";
import { type App, done, refuse } from "./responses.ts";

export const receiverRoutes = new Hono<App>();

serve(receiverRoutes, "GET /v1/receivers", async (c) =>
  c.json({ receivers: await fleetIndex(c.env).receivers() } satisfies ReceiversAnswer),
);

serve(receiverRoutes, "POST /v1/receivers", async (c, { body }) => {
  const { name, ...settings } = body;
  const wish = { ...settings, newSecret: true };
  const made = await fleetIndex(c.env).putReceiver(name, wish, true, c.var.operator.who);
  return made.ok ? c.json(made.value satisfies ChangedReceiver, 201) : wrongField(made.error);
});

serve(receiverRoutes, "PUT /v1/receivers/{receiver}", async (c, { body }) => {
  const { who } = c.var.operator;
  const changed = await fleetIndex(c.env).putReceiver(c.req.param("receiver"), body, false, who);
  return changed.ok ? c.json(changed.value satisfies ChangedReceiver) : wrongField(changed.error);
});

serve(receiverRoutes, "DELETE /v1/receivers/{receiver}", async (c) =>
  done(c, await fleetIndex(c.env).removeReceiver(c.req.param("receiver"), c.var.operator.who)),
);

serve(receiverRoutes, "POST /v1/receivers/{receiver}/test", async (c) => {
  const outcome = await fleetIndex(c.env).testReceiver(c.req.param("receiver"), c.var.operator.who);
  return outcome ? c.json(outcome satisfies ReceiverTest) : refuse("not-found");
});

serve(receiverRoutes, "GET /v1/receivers/{receiver}/letters", async (c) => {
  const letters = await fleetIndex(c.env).letters(c.req.param("receiver"));
  return letters ? c.json({ letters } satisfies LettersAnswer) : refuse("not-found");
});

serve(receiverRoutes, "POST /v1/receivers/{receiver}/letters/{id}/resend", async (c) => {
  const { receiver, id } = c.req.param();
  const isFound = await fleetIndex(c.env).resendLetter(receiver, Number(id), c.var.operator.who);
  return done(c, isFound);
});

serve(receiverRoutes, "GET /v1/mutes", async (c) =>
  c.json({ mutes: await fleetIndex(c.env).mutes() } satisfies MutesAnswer),
);

serve(receiverRoutes, "POST /v1/mutes", async (c, { body }) => {
  const made = await fleetIndex(c.env).mute(newMute(body), c.var.operator.who);
  return made.ok ? c.json(made.value satisfies ListedMute, 201) : wrongField(made.error);
});

serve(receiverRoutes, "DELETE /v1/mutes/{id}", async (c) =>
  done(c, await fleetIndex(c.env).unmute(Number(c.req.param("id")), c.var.operator.who)),
);

/** Refuses a body for one invalid field. `fault`: null if no receiver has the name. */
function wrongField(fault: { path: string; message: string } | null): Response {
  if (fault === null) return refuse("not-found");
  return refuse("invalid-body", { detail: fault.message, pointer: fault.path });
}
