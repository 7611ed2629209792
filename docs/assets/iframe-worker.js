// Browsers start no worker for a page that was opened as a file. There, run the worker's script in a hidden frame, so that
// search works without a server. Served pages keep the browser's own workers.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "Search";
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      const script = inner.document.createElement("script");
      // What the script says to "the page" is an event of this object; what the page says is an event of the frame.
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      script.src = address;
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        for (const data of waiting) this.postMessage(data);
      };
      script.onerror = () => this.dispatchEvent(new Event("error"));
      inner.document.head.append(script);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
