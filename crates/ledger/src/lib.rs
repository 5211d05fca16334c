//! A durable privacy budget: reserve before the release, settle after it, never overspend.
//!
//! - A [`Ledger`] is one file that any number of processes share.
//! - A [`DataSet`] in it has an id, a fingerprint of its schema, an adjacency and a cap: the [`Amount`] of privacy,
//!   (epsilon, delta), that may be spent on it in total.
//! - A [`Request`] states the cost of all releases of a run in advance. The ledger returns a [`Reservation`], or a
//!   [`Refusal`] with the amounts spent and remaining.
//! - A [`Run`] implements the ledger trait of the wall for one data set.
//! - An [`Account`] is the balance of a data set, and its history is a list of [`Charge`]s.
//!
//! A run takes these steps, each durable before the next begins:
//!
//! ```text
//!  reserve ----> start ----> first release ... last release ----> settle
//!     |            |                                                |
//!  charged      never                                          charged with
//!  in full      refunded                                       what was spent
//!     |
//!     +--------> cancel (nothing was released: refunded)
//! ```
//!
//! A run that crashes stays charged in full, so a crash never overspends the budget. It need not waste any either: a run that
//! keeps its releases and its [`Token`] in a journal can be [found](Ledger::find) and resumed. The ledger stores the digest of the
//! newest durable release, so that only the newest journal of a run can be resumed, by one process at a time.
//!
//! ```
//! use reticent_ledger::{Amount, Ledger, LedgerError, Request};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("budget.ledger");
//! let mut ledger = Ledger::create(&path)?;
//! ledger.add_data_set("trial", "5f1c", Amount::new(1.0, 1e-5), "replace-one")?;
//!
//! let request = Request {
//!     amount: Amount::new(0.8, 1e-5),
//!     schema_fingerprint: "5f1c".into(),
//!     adjacency: "replace-one".into(),
//!     purpose: "dose response, first look".into(),
//!     plan_json: r#"{"engine": "sep", "releases": 20}"#.into(),
//!     releases: None,
//! };
//! let reservation = ledger.reserve("trial", &request)?;
//! ledger.start(&reservation)?;
//! // ... the releases, which stopped early and cost less than planned ...
//! ledger.settle(&reservation, Amount::new(0.6, 5e-6), r#"{"releases": 15}"#)?;
//!
//! assert_eq!(ledger.account("trial")?.remaining, Amount::new(0.4, 5e-6));
//! assert!(matches!(ledger.reserve("trial", &request), Err(LedgerError::Refused(_))));
//! # Ok::<(), LedgerError>(())
//! ```
//!
//! # Composition and rounding
//!
//! A run states its [`Releases`]. Several runs then cost together what three filters show, at the cap's delta: the rule, its
//! proof and its conditions are in [`reticent_accounting::filter`]. Runs without stated releases count by basic composition: their
//! epsilons and deltas are summed. All sums are exact, in integer units of 1e-12 for epsilon and 1e-18 for delta; a charge is rounded up to a unit and a
//! cap down (see [`Amount`]). An `f64` is read as the decimal it prints as, so ten requests of `0.1` exactly fill a cap of `1`.
//!
//! # The file
//!
//! A SQLite database, synchronised to the disk on every commit. It contains nothing about the records: ids, fingerprints of schemas,
//! amounts, and the plans and receipts of the caller, which must be public; and the tokens of runs, which are secret, so only its
//! owner may read it. Every row has a checksum, and so has the set of rows: damage is an error.
//!
//! A charge is in the file itself when its transaction ends. During a transaction, and after a crash in the middle of one, a
//! second file whose name ends in `-journal` allows SQLite to roll back the unfinished transaction. It belongs to the ledger.

mod account;
mod amount;
mod cap;
mod error;
mod ledger;
mod migrate;
mod rows;
mod run;
mod store;
mod time;

pub use account::{Account, Charge, Composition, Counts, DataSet, State, Unfinished};
pub use amount::Amount;
pub use error::{LedgerError, Refusal};
pub use ledger::{Found, Ledger, Releases, Request, Reservation, Token};
pub use run::Run;
