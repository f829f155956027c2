// The second module of JavaScript: the Durable Objects in it, the gate of containers, and the operator's calls. Most isolates
// answer requests for which none of that is needed, so `entry.js` loads it at the first call. What both import is built as
// `shared.js`.

export { admin } from "./src/admin/calls.js";
export { ContentsObject } from "./src/admin/contents.js";
export { OperatorObject } from "./src/admin/operator.js";
export { CollectionObject } from "./src/collections/object.js";
export { TilerGate } from "./src/containers/gate.js";
export { MessagesObject } from "./queue/messages.js";
export { TilerObject } from "./src/containers/object.js";
export { UploadsObject } from "./src/uploads/object.js";
