// Who may call the operator's interface: tokens with names, in the secret ADMIN_TOKENS, such as `anna:<token>,ben:<token>`. A
// token alone is that of `operator`. They are not the tilers' token, which machines have that read bytes of strangers.

/** Shorter ones can be guessed. */
const SHORTEST = 16;

/** The tokens by their names; undefined when none is configured, or one is too short. */
function tokens(configured) {
  const named = (configured ?? "").split(",").map((pair) => pair.trim()).filter(Boolean).map((pair) => {
    const colon = pair.indexOf(":");
    return colon < 0 ? ["operator", pair] : [pair.slice(0, colon), pair.slice(colon + 1)];
  });
  return named.length > 0 && named.every(([name, token]) => name && token.length >= SHORTEST) ? named : undefined;
}

/** Who sends a request: the name of its token (RFC 6750), or the response that refuses it. */
export async function authorized(request, env) {
  const known = tokens(env.ADMIN_TOKENS);
  if (!known) {
    console.error("the operator is refused: ADMIN_TOKENS is not set, or has a token of fewer than 16 characters");
    return new Response("The service has no token for operators.\n", { status: 503 });
  }
  const [, sent = ""] = /^bearer +(.+)$/i.exec(request.headers.get("Authorization") ?? "") ?? [];
  const digest = async (text) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const given = await digest(sent.trim());
  let who;
  // All are compared, each in constant time: digests have one length.
  for (const [name, token] of known) if (crypto.subtle.timingSafeEqual(given, await digest(token))) who = name;
  return who ?? new Response("The token is wrong.\n", { status: 401, headers: { "WWW-Authenticate": "Bearer" } });
}
