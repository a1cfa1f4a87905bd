mod events;
mod feed;
mod orders;
mod simulation;
