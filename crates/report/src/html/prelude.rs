//! What every section needs: the subjects, the pieces of a page, the charts, and figures in words.

pub(super) use super::charts::*;
pub(super) use super::page::{Block, Cell, Definition, Figure, LegendItem, Notice, Section, Table, TableRow};
pub(super) use super::subjects::{
    KeyFigure, Known, Named, One, Subject, Subjects, distinct, gathered, known, once, reasons,
};
pub(super) use super::{ReportError, largest, median};
pub(super) use crate::wording::{naming, text};
