// The second module of JavaScript: the Durable Objects in it, the gate of containers, the operator's calls, and searches for
// words. Most isolates answer requests for which none of that is needed, so the first module loads it at the first call. What
// both import is built as `shared.js`.

export { admin } from "./src/admin/calls.js";
export { ContentsObject } from "./src/admin/contents.js";
export { OperatorObject } from "./src/admin/operator.js";
export { CollectionObject } from "./src/collections/object.js";
export { TilerGate } from "./src/containers/gate.js";
export { MessagesObject } from "./queue/messages.js";
export { TilerObject } from "./src/containers/object.js";
export { annotationsOf, firstIn, searchIn } from "./src/text/text.js";
export { UploadsObject } from "./src/uploads/object.js";
