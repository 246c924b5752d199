// A browser refuses workers to a page that was opened from disk, and the search of the site runs in one.
// There, a hidden frame with the same script takes the worker's place.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.deliver(data);
      inside.importScripts = (...scripts) =>
        scripts.reduce((before, script) => before.then(() => this.load(script)), Promise.resolve());
      this.frame = frame;
      this.ready = this.load(url);
    }

    load(url) {
      const page = this.frame.contentDocument;
      return new Promise((loaded, failed) => {
        const script = page.createElement("script");
        script.onload = loaded;
        script.onerror = failed;
        script.src = url;
        page.body.append(script);
      });
    }

    deliver(data) {
      const message = new MessageEvent("message", { data });
      this.dispatchEvent(message);
      this.onmessage?.(message);
    }

    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow;
        const message = new inside.MessageEvent("message", { data: structuredClone(data) });
        inside.dispatchEvent(message);
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
