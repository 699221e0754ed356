// The body of an operator's request to sign in from a browser. The answers are in session-answers.ts; who may ask is not
// decided here.
import * as z from "zod/mini";

const given = z.optional(z.string().check(z.minLength(1)));

/** The body of POST /v1/session: a secret, or a code. Its size is limited before. */
export const signInSchema = z
  .strictObject({
    /** The admin or view secret, or that of an operator with a name. */
    secret: given,
    /** Of POST /v1/session/codes. */
    code: given,
  })
  .check(
    z.superRefine(({ secret, code }, context) => {
      if ((secret === undefined) === (code === undefined))
        context.addIssue({ code: "custom", path: ["secret"], message: "send either a secret, or a code" });
    }),
  );
export type SignIn = z.infer<typeof signInSchema>;
