// While `cargo xtask dev` still compiles the renderer, contents in the queue have the stage `building`, which only the viewer knows.

/** Returns a response of the Worker with that stage in each content object, until `hasRenderer()`. */
export function withoutRenderer(response, hasRenderer) {
  if (!/json|html|event-stream/.test(response.headers.get("Content-Type")) || !response.body) return response;
  const renamed = new TransformStream({
    transform: (text, out) => out.enqueue(hasRenderer() ? text : text.replaceAll('"stage":"queued"', '"stage":"building"')),
  });
  const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(renamed).pipeThrough(new TextEncoderStream());
  const changed = new Response(body, response);
  changed.headers.delete("Content-Length");
  return changed;
}
