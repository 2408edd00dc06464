//! Reader threads. A read that never ends costs one of them, but no thread of the runtime.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use windlass_ports::StoreError;
use windlass_ports::sync::Mutex;

use crate::open_store::{OpenStore, StoreCell};

const READERS: usize = 3;

/// A read to run, of the store if it is open.
pub(crate) type ReadJob = Box<dyn FnOnce(Result<&OpenStore, StoreError>) + Send>;

/// Starts the readers. They end when the sender is dropped, and each then drops its `alive`.
pub(crate) fn start(shared: &Arc<StoreCell>, alive: &Sender<()>) -> io::Result<Sender<ReadJob>> {
    let (jobs, queue) = channel::<ReadJob>();
    let queue = Arc::new(Mutex::new(queue));
    for number in 0..READERS {
        let (shared, queue, alive) = (shared.clone(), queue.clone(), alive.clone());
        let read = move || {
            while let Some(job) = next(&queue) {
                match shared.get() {
                    Ok(store) => job(Ok(&store)),
                    Err(error) => job(Err(error)),
                }
            }
            drop((queue, shared));
            drop(alive);
        };
        thread::Builder::new().name(format!("windlass-sled-read-{number}")).spawn(read)?;
    }
    Ok(jobs)
}

fn next(queue: &Mutex<Receiver<ReadJob>>) -> Option<ReadJob> {
    let queue = queue.lock();
    queue.recv().ok()
}
